"""PURE. From a profile, offerings and limits to ranked plans, each loser with its reason."""
