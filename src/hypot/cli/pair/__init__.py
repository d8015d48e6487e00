"""hypot pair: an HPA and a VPA for one workload, each on its own signal."""
