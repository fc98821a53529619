"""What every method is built on: the contract, encoder and updates, replay, the past model."""
