!@ coven module in_fortran(in f64 x[n], out f64 y[n])
function in_fortran(x, y, n) result(code) bind(C, name="in_fortran")
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), value :: n
  real(c_double), intent(in) :: x(n)
  real(c_double), intent(out) :: y(n)
  integer(c_int) :: code
  write(*, '(A)') 'Fortran writes'
  write(*, '(A)', advance='no') 'and waits'
  y = x
  code = 0
end function
