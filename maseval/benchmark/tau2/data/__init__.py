"""The benchmark's data files: manifests, addresses and recipes; ``maseval.data`` fetches them."""
