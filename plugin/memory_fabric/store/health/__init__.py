"""Health: status, integrity checks, alerts, maintenance."""
