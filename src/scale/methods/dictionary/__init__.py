"""Clusters of image patches, learned online without gradients."""
