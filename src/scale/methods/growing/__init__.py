"""Parts that grow with the stream: centroids, layers of units, a test for drift."""
