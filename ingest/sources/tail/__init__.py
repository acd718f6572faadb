"""Files of JSON lines that grow: followed through rotation, truncation and restarts."""
