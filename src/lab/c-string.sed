# SPDX-License-Identifier: GPL-2.0-only
# A text as a C string, line by line. The build runs it: the command carries its files within itself.
s/["\\]/\\&/g
s/.*/"&\\n"/
