! Counts what is wrong in this process.
module check
  implicit none
  private
  integer, save, public :: wrong = 0
  public :: expect
contains
  subroutine expect(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    wrong = wrong + 1
    print *, "wrong: ", what
  end subroutine expect
end module check
