! Coarrays of every kind of use; each image checks what it sees.
program coarrays
  use iso_fortran_env
  implicit none
  integer, parameter :: n = 1000
  real(real64) :: field(n)[*]
  integer :: matrix(20, 30)[*]
  integer(atomic_int_kind) :: counter[*]
  type(event_type) :: event[*]
  type(lock_type) :: lock[*]
  integer :: shared[*]
  integer :: me, images, next, previous, i, total, before
  real(real64), allocatable :: got(:)
  integer, allocatable :: later(:)[:]

  me = this_image()
  images = num_images()
  next = merge(1, me + 1, me == images)
  previous = merge(images, me - 1, me == 1)

  ! Puts and gets, contiguous and in strides.
  field = 0
  matrix = 0
  shared = 0
  counter = 0
  sync all
  field(:)[next] = [(real(1000 * me + i, real64), i = 1, n)]
  matrix(3:19:4, 2:30:7)[next] = me
  sync all
  call check(all(field == [(real(1000 * previous + i, real64), i = 1, n)]), 'put')
  call check(count(matrix == previous) == 25 .and. sum(matrix) == 25 * previous, 'put in strides')
  got = field(10:500:7)[next]
  call check(all(got == [(real(1000 * me + i, real64), i = 10, 500, 7)]), 'get in strides')

  ! Atomics.
  do i = 1, 100
    call atomic_add(counter[1], 1)
  end do
  sync all
  if (me == 1) then
    call atomic_ref(before, counter[1])
    call check(before == 100 * images, 'atomic_add')
  end if
  sync all
  call atomic_fetch_add(counter[1], me, before)
  sync all
  call atomic_ref(total, counter[1])
  call check(total == 100 * images + images * (images + 1) / 2, 'atomic_fetch_add, sum')

  ! Events and locks.
  event post (event[next])
  event wait (event)
  do i = 1, 50
    lock (lock[1])
    shared[1] = shared[1] + 1
    unlock (lock[1])
  end do
  sync all
  call check(shared[1] == 50 * images, 'lock')

  ! Collectives, and memory that is allocated later.
  total = me
  call co_sum(total)
  call check(total == images * (images + 1) / 2, 'co_sum')
  total = me
  call co_max(total)
  call check(total == images, 'co_max')
  total = me * 7
  call co_broadcast(total, source_image=1)
  call check(total == 7, 'co_broadcast')
  do i = 1, 10
    allocate (later(i * 100)[*])
    later(i * 100)[next] = me + i
    sync all
    call check(later(i * 100) == previous + i, 'allocate')
    deallocate (later)
  end do
  sync all
  if (me == 1) print '(a)', 'all right'

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, 'image', me, ': ', what, ' is wrong'
    error stop 1
  end subroutine check

end program coarrays
