! mpixf.h after mpif.h, in fixed form that is valid free form, too.
      program include_test
      implicit none
      include 'mpif.h'
      include 'mpixf.h'
      integer n
      parameter (n = 24)
      integer comm, rank, ranks, right, left, i, wrong, request, ierror
      integer mine(n), sent(n), found(n)
      integer(MPI_ADDRESS_KIND) addresses(0:63), base, one
      integer(MPI_ADDRESS_KIND) given
      logical flag
      type(MPIX_Rma_request) own
      type(MPIX_RMA_Attributes) attributes
      asynchronous mine, sent, found

      wrong = 0
      call MPI_Init(ierror)
      call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
      call MPI_Comm_rank(comm, rank, ierror)
      call MPI_Comm_size(comm, ranks, ierror)
      right = mod(rank + 1, ranks)
      left = mod(rank + ranks - 1, ranks)
      do i = 1, n
        mine(i) = -i
        sent(i) = 1000 * rank + i
      end do
      call MPIX_RMA_Register(mine, int(4 * n, MPI_ADDRESS_KIND),          &
     &  MPI_INFO_NULL, ierror)
      if (ierror .ne. MPI_SUCCESS) wrong = wrong + 1
      call MPI_Get_address(mine, base, ierror)
      call MPI_Allgather(base, 1, MPI_AINT, addresses, 1, MPI_AINT,     &
     &  comm, ierror)

! Every other element, by a section with gaps.
      call MPIX_RMA_xfer(MPIX_RMA_PUT, sent(1:n:2), n / 2, MPI_INTEGER, &
     &  right, addresses(right), n / 2, MPI_INTEGER, request, comm,     &
     &  ierror=ierror)
      if (ierror .ne. MPI_SUCCESS) wrong = wrong + 1
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call MPIX_RMA_Complete(comm, MPIX_ALL_RANKS, ierror)
      call MPI_Barrier(comm, ierror)
      do i = 1, n / 2
        if (mine(i) .ne. 1000 * left + 2 * i - 1) wrong = wrong + 1
      end do
      do i = n / 2 + 1, n
        if (mine(i) .ne. -i) wrong = wrong + 1
      end do
      call MPI_Barrier(comm, ierror)

! A key on the communicator, attributes of one call, the library's request.
      one = MPIX_RMA_ON
      call MPI_Comm_set_attr(comm, MPIX_RMA_KEY_BLOCKING(), one, ierror)
      call MPI_Comm_get_attr(comm, MPIX_RMA_KEY_BLOCKING(), given, flag,    &
     &  ierror)
      if (.not. flag .or. given .ne. MPIX_RMA_ON) wrong = wrong + 1
      attributes%set = MPIX_RMA_ATTR_ACCUMULATE_OP
      attributes%accumulate_op = MPI_SUM
      call MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, sent, n, MPI_INTEGER,     &
     &  right, addresses(right), n, MPI_INTEGER, communicator=comm,     &
     &  rma_attr_val=attributes, ierror=ierror)
      if (ierror .ne. MPI_SUCCESS) wrong = wrong + 1
      call MPIX_RMA_Complete(comm, MPIX_ALL_RANKS, ierror)
      call MPI_Barrier(comm, ierror)
      call MPIX_RMA_xfer_rma(MPIX_RMA_GET, found, n, MPI_INTEGER,       &
     &  right, addresses(right), n, MPI_INTEGER, own, comm,             &
     &  ierror=ierror)
      if (ierror .ne. MPI_SUCCESS) wrong = wrong + 1
      call MPIX_Rma_request_wait(own, ierror)
      if (own%handle .ne. MPIX_RMA_REQUEST_NULL%handle) wrong = wrong+1
      do i = 1, n / 2
        if (found(i) .ne. 2000 * rank + 3 * i - 1) wrong = wrong + 1
      end do
      do i = n / 2 + 1, n
        if (found(i) .ne. 1000 * rank) wrong = wrong + 1
      end do
      call MPI_Barrier(comm, ierror)

      call MPIX_RMA_Deregister(mine, int(4 * n, MPI_ADDRESS_KIND),        &
     &  ierror)
      if (ierror .ne. MPI_SUCCESS) wrong = wrong + 1
      call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM,  &
     &  MPI_COMM_WORLD, ierror)
      if (wrong .ne. 0) print *, 'wrong:', wrong
      call MPI_Finalize(ierror)
      if (wrong .ne. 0) stop 1
      end
