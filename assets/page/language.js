// The view's switch writes it there.
(_, ...others) => [document.documentElement.lang, ...others]
