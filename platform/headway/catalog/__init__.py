"""What the world offers: prices, sites, grid carbon; dated and with their source."""
