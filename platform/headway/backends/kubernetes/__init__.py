"""Runs on Kubernetes: RayJobs of KubeRay, queued by Kueue where it is there."""
