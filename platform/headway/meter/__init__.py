"""What a run uses: cores, joules, and by which method that is known."""
