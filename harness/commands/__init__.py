"""The commands of `kvgate`, one a file. The only modules that know both the harness and the reports.

A command has `add_arguments(parser)` and `run(arguments) -> exit status`, or `main(words)` where it parses its
own words.
"""
