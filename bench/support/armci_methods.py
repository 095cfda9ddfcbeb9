"""Ours and ARMCI-MPI by method of strided transfers, on one host: for bench/figures and bench/report."""
TUNED = {"ARMCI_RMA_ATOMICITY": "0"}
DIRECT = {**TUNED, "ARMCI_STRIDED_METHOD": "DIRECT"}
BATCHED = {"ARMCI_STRIDED_METHOD": "IOV", "ARMCI_IOV_METHOD": "BATCHED", "ARMCI_IOV_BATCHED_LIMIT": "0"}
CONSERVATIVE = {"ARMCI_STRIDED_METHOD": "IOV", "ARMCI_IOV_METHOD": "CONSRV"}
# label, program, MCA parameters, environment
RUNS = [
    ("ours", "bench_armci_mpix", [], {}),
    ("ours, batched", "bench_armci_mpix", [], BATCHED),
    ("ours, conservative", "bench_armci_mpix", [], CONSERVATIVE),
    ("ARMCI-MPI osc/sm", "bench_armci_mpi", ["osc", "sm,rdma"], DIRECT),
    ("ARMCI-MPI osc/sm, batched", "bench_armci_mpi", ["osc", "sm,rdma"], {**TUNED, **BATCHED}),
    ("ARMCI-MPI osc/rdma", "bench_armci_mpi", ["osc", "rdma"], DIRECT),
    ("ARMCI-MPI osc/ucx", "bench_armci_mpi", ["osc", "ucx"], DIRECT),
]
LIBRARIES = [label for label, *_ in RUNS if "," not in label]
