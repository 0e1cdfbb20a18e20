"""The operations that the techniques put into a model (torch)."""
