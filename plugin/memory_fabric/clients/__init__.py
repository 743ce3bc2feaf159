"""What memory-fabric knows of each client, one folder a client."""
