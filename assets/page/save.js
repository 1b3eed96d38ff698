() => document.querySelector('.tv').treeviz.shell.save()
