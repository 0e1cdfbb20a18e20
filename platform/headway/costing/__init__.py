"""PURE. Usage times the price in force gives cost lines that add up exactly."""
