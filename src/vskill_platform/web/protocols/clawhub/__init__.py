"""ClawHub v1: its requests (paths.py), reading (skills.py), installing, publishing, scans."""
