"""What the pages ask the snapshot: connection in, Polars frame out, no Streamlit.

Everything is read from marts, never from raw history, except the events of one correlation id. Times are naive UTC.
"""
