"""One technique a file: what it does, saves and costs, whether it is exact, and how it is applied."""
