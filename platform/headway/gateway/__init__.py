"""HTTP: the Ray Jobs routes, the run API, and what supervisors and agents post."""
