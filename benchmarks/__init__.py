"""How fast Gatewatch is, as ratios with both sides measured in one run. Judged by people, not by tests."""
