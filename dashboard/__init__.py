"""What managers look at: a read-only Streamlit app over the published snapshots."""
