"""What each rule of placement is worth on this host: runs that obey all of them, and runs that break one."""
