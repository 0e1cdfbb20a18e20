"""This machine as a backend: a driver process, its private Ray, and the end of both."""
