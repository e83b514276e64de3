"""Android devices by adb: a server of our own, and one device's commands, files and screen."""
