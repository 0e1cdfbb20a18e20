"""The run state machine and the ledger that records every run."""
