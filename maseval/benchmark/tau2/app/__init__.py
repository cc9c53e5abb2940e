"""The commands of tau2: the application layer of this benchmark."""
