"""The loop that owns a run: admit, start, watch, retry, settle."""
