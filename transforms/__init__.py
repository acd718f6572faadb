"""SQL from events and policy to calls, gate checks, reconciliation, KPIs and findings; and the snapshot for readers."""
