echo
notex