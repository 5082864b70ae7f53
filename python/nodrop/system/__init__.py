"""The operating system and file formats: CPUs, directories, native binaries, log files, YAML."""
