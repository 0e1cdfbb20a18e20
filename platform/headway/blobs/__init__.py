"""Content-addressed bytes, on a folder or in S3: packages, logs, manifests."""
