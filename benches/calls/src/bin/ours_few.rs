//! One call of our pool of each kind.

calls::program!(pool_std);
