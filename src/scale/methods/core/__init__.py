"""The base of every method: the contract, encoder and updates, replay, the past model."""
