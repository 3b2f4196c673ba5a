! Sums in Fortran.  A module is a function with bind(C) that returns an integer(c_int): 0, or a code.
!
! Arrays arrive with their last axis fastest, as in C: an a[m, n] of the directive is declared a(n, m) here.
! Dimension names and scalars that are only read come by value.

!@ coven module row_sums(in f64 a[m, n], out f64 sums[m])
function row_sums(a, sums, m, n) result(code) bind(C, name="row_sums")
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), value :: m, n
  real(c_double), intent(in) :: a(n, m)
  real(c_double), intent(out) :: sums(m)
  integer(c_int) :: code
  sums = sum(a, dim=1)
  code = 0
end function

!@ coven module add_scaled(in f64 factor, in f64 x[n], inout f64 y[n])
function add_scaled(factor, x, y, n) result(code) bind(C, name="add_scaled")
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), value :: n
  real(c_double), value :: factor
  real(c_double), intent(in) :: x(n)
  real(c_double), intent(inout) :: y(n)
  integer(c_int) :: code
  y = y + factor * x
  code = 0
end function
