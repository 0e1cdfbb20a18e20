"""What a user writes: job and sites files, checked before anything starts."""
