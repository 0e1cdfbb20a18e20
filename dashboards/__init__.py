"""The dashboard: started by `headway dashboard` as a process of its own."""
