"""The law as properties: generated histories, judged by the oracle and by the SQL."""
