"""Linear maps from learned features to embeddings."""
