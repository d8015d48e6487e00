"""Plain values in manifests: names, addresses, versions, and what is nested."""
