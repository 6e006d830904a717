# Writes the variables that torchrun gives a rank to the file FILE.RANK.
import os
import sys

names = (
    "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_NAME ROLE_WORLD_SIZE "
    "MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID"
)
with open(sys.argv[1] + "." + os.environ["RANK"], "w") as file:
    for name in names.split():
        file.write(f"{name}={os.environ.get(name)}\n")
    file.write(" ".join(sys.argv[2:]) + "\n")
