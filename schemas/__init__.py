"""What an event is and what a policy is; everything else is derived from here."""
