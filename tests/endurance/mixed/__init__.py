"""The mixed load: all that a server meets in a year, in two hours.

    world     the servers, their exports and their configuration file
    crew      the processes of the load, each an actor with a heartbeat
    probe     the well-behaved client, and what the machine itself does to its clock
    clients   clients that verify what they read, and clients that come and go
    hostile   clients that break rules
    changes   reloads and live changes
    readers   programs that read the statistics
    samples   descriptors, memory and kstats, and whether they are flat
    load      all of it together: the piece
"""
