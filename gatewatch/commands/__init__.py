"""The subcommands, one module for each thing that people do."""
