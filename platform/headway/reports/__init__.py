"""PURE view models shared by the CLI, the dashboard and exports."""
