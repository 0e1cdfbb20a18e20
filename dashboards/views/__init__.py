"""One module per page; each draws a view model and computes nothing."""
