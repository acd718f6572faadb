"""Sources: where bytes come from, and where we are in them."""
